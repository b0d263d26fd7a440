import type { MouseEvent, ReactNode } from "react";
import { Link, useLocation, useSearchParams } from "wouter";

type Props = {
  /** The event that is gone to; null: none is known, and the link leads to the run. */
  seq: number | null;
  children: ReactNode;
  /** The run, for links from other pages; default: the run that is shown, whose other parameters stay. */
  run?: string;
  /** Instead of following the address, on the run's own page. */
  onGo?: (seq: number) => void;
};

/** A link to a moment of a run: underlined, with an address that can be copied or opened in another tab. */
export function TurnLink({ seq, children, run, onGo }: Props) {
  const [path] = useLocation();
  const [shown] = useSearchParams();
  const query = new URLSearchParams(run === undefined ? shown : undefined);
  if (seq !== null) query.set("at", String(seq));
  const address = `${run === undefined ? path : runAddress(run)}${query.size > 0 ? `?${query}` : ""}`;
  const go = (event: MouseEvent) => {
    if (onGo === undefined || seq === null || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    onGo(seq);
  };
  return (
    <Link className="go" href={address} onClick={go}>
      {children}
    </Link>
  );
}

/** The address of a run's page, and of a moment of it. */
export const runAddress = (run: string, at: number | null = null): string =>
  `/runs/${encodeURIComponent(run)}${at === null ? "" : `?at=${at}`}`;
