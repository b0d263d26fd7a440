import type { RunTurn } from "../../api/types";
import { New } from "../turn/New";
import { Saw } from "../turn/Saw";

/** The blocks of a turn whose context was cut, in the place of Saw and New. `seq`: the compression. */
export function Compression({ turn }: { seq: number; turn: RunTurn }) {
  return (
    <>
      <Saw turn={turn} marked={[]} />
      <New turn={turn} />
    </>
  );
}
