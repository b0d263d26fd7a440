/** Pages that there are, in their order in the bar. */
export const PAGES: readonly { href: string; label: string }[] = [
  { href: "/", label: "Runs" },
  { href: "/across", label: "Across runs" },
  { href: "/conversations", label: "Conversations" },
  { href: "/approvals", label: "Approvals" },
  { href: "/search", label: "Search" },
];
