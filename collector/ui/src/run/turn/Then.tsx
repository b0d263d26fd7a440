import type { RunTurn } from "../../api/types";
import { Said } from "../../parts/Said";
import { Strength } from "../../parts/Strength";
import { TurnLink } from "../../parts/TurnLink";
import { Block } from "./Block";

/** What this turn led to, later in the run. */
export function Then({ turn }: { turn: RunTurn }) {
  if (turn.then.length === 0) return null;
  return (
    <>
      {turn.then.map((effect, n) => (
        <Block
          key={n}
          label={n === 0 ? "Then" : ""}
          isSame={n > 0}
          margin={
            <p>
              <Said>{effect.why}</Said> <Strength word={effect.strength} />
            </p>
          }
        >
          <TurnLink seq={effect.seq}>{effect.turn === null ? `event ${effect.seq}` : `turn ${effect.turn}`}</TurnLink>{" "}
          <Said>{effect.text}</Said>
        </Block>
      ))}
    </>
  );
}
