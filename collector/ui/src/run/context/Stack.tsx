import { useLayoutEffect, useRef } from "react";

import type { Block, BlockKind } from "../../model/context";
import { count, percent } from "../../model/format";

type Props = {
  blocks: readonly Block[];
  share: number | null;
  chosen: BlockKind | null;
  onChoose: (kind: BlockKind) => void;
};

/** The context as one bar, in the order in which the model reads it; a block's width is its share of the tokens. Below it, how much of the model's limit (`share`) all of it takes. */
export function Stack({ blocks, share, chosen, onChoose }: Props) {
  return (
    <>
      <div className="stack" role="group" aria-label="Tokens by kind">
        {blocks.map((block) => (
          <Part key={block.kind} block={block} isChosen={block.kind === chosen} onChoose={onChoose} />
        ))}
      </div>
      {share !== null && (
        <svg
          className="against"
          viewBox="0 0 100 3"
          preserveAspectRatio="none"
          role="img"
          aria-label={`${percent(share)} of the limit`}
        >
          <title>{percent(share)} of the model's limit</title>
          <rect
            className={share > 0.8 ? "used high" : "used"}
            width={Math.min(100, Math.max(0.3, share * 100))}
            height={3}
          />
        </svg>
      )}
      <div className="legend stack-names" aria-hidden="true">
        {blocks.map((block) => (
          <span key={block.kind} className={`tag block-${block.kind}`}>
            {block.kind} {count(block.tokens)}
          </span>
        ))}
      </div>
    </>
  );
}

function Part({ block, isChosen, onChoose }: { block: Block; isChosen: boolean; onChoose: (kind: BlockKind) => void }) {
  const box = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => box.current?.style.setProperty("flex-grow", String(block.tokens)), [block.tokens]);
  const what = `${block.kind}: ${count(block.tokens)} tokens, estimated from the call's count`;
  return (
    <button
      ref={box}
      type="button"
      className={`block-${block.kind}`}
      title={`${what}. Click: show it in the messages`}
      aria-label={what}
      aria-pressed={isChosen}
      onClick={() => onChoose(block.kind)}
    >
      <span className="kind">{block.kind} </span>
      <span className="size">{count(block.tokens)}</span>
    </button>
  );
}
