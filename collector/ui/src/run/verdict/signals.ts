/** Ids of the buttons that answer an approval: the keys `a` and `d` go to them. */
export const ANSWER_FIELDS = { approve: "answer-approve", deny: "answer-deny" } as const;
