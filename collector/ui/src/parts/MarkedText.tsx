import { type Marked, markedPieces } from "./marks";
import { Said } from "./Said";

/** A recorded text as it is, with some of its words marked. */
export function MarkedText({ text, marked = [] }: { text: string; marked?: readonly Marked[] }) {
  return (
    <bdi>
      {markedPieces(text, marked).map((piece, n) =>
        piece.isMarked ? (
          <mark key={n} className="bad">
            <Said>{piece.text}</Said>
          </mark>
        ) : (
          <Said key={n}>{piece.text}</Said>
        ),
      )}
    </bdi>
  );
}
