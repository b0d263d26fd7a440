// When a managed context was compressed, in words. Pure.
const TRIGGERS: Readonly<Record<string, string>> = {
  threshold: "at its threshold",
  manual: "asked for by the program",
  limit_error: "after the provider refused a context that was too long",
};

/** The trigger in words; one that is not known as it is. */
export const triggerSaid = (trigger: string): string => TRIGGERS[trigger] ?? trigger;
