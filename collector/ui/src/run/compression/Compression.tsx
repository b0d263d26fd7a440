// A turn whose context was cut: what went, what of it was needed later, and what the model got instead.
import { useMemo } from "react";

import type { CompressionAudit, ContextAt, RunTurn } from "../../api/types";
import { useApi } from "../../api/useApi";
import { asMessage } from "../../parts/messageParts";
import { Failed, Loading } from "../../parts/Notices";
import { runPath, useOnPage } from "../OnPage";
import { Block } from "../turn/Block";
import { BeforeAfter } from "./BeforeAfter";
import { Compressed } from "./Compressed";
import { Facts } from "./Facts";
import { afterLines } from "./fates";
import { NeededLater } from "./NeededLater";
import { Summariser } from "./Summariser";

/** The blocks of a turn whose context was cut, in the place of Saw and New. `seq`: the compression. */
export function Compression({ seq, turn }: { seq: number; turn: RunTurn }) {
  const { run, turns } = useOnPage();
  const isOver = run.status !== "running";
  const { data: audit, error, again } = useApi<CompressionAudit>(`${runPath(run.run)}/compressions/${seq}`, {}, isOver);
  const { data: context } = useApi<ContextAt>(`${runPath(run.run)}/context`, { at: turn.seq }, isOver);
  const since = turn.new.since;
  const { data: before } = useApi<RunTurn>(since === null ? null : `${runPath(run.run)}/turns/${since}`, {}, isOver);
  const after = useMemo(() => context?.messages.map((each) => asMessage(each)) ?? null, [context]);
  const got = useMemo(() => (audit === null || after === null ? null : afterLines(audit, after)), [audit, after]);
  if (audit === null)
    return (
      <Block label="Compressed">
        {error === null ? (
          <Loading what="what was lost" />
        ) : (
          <Failed error={error} what="what was lost" onAgain={again} />
        )}
      </Block>
    );
  const writer = audit.summariser === null ? undefined : turns.find((row) => row.seq === audit.summariser);
  return (
    <>
      <Compressed audit={audit} turn={turn} before={before} />
      <NeededLater audit={audit} turn={turn} summary={got?.find((line) => line.was === "summary")} />
      <BeforeAfter audit={audit} turn={turn} after={after} got={got} />
      {writer?.turn != null && <Summariser number={writer.turn} />}
      <Facts audit={audit} />
    </>
  );
}
