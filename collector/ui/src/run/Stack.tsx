import { useLayoutEffect, useRef } from "react";

import type { Block } from "../model/context";
import { count } from "../model/format";

/** The context as one bar, in the order in which the model reads it; a block's width is its share of the tokens. */
export function Stack({ blocks }: { blocks: readonly Block[] }) {
  const label = blocks.map((block) => `${block.kind} ${block.tokens}`).join(", ");
  return (
    <>
      <div className="stack" role="img" aria-label={`Tokens by kind: ${label}`}>
        {blocks.map((block) => <Part key={block.kind} block={block} />)}
      </div>
      <div className="legend stack-names" aria-hidden="true">{blocks.map((block) => <span key={block.kind} className={`tag block-${block.kind}`}>{block.kind} {count(block.tokens)}</span>)}</div>
    </>
  );
}

function Part({ block }: { block: Block }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => box.current?.style.setProperty("flex-grow", String(block.tokens)), [block.tokens]);
  return (
    <div ref={box} className={`block-${block.kind}`} title={`${block.kind}: ${count(block.tokens)} tokens, estimated from the call's count`}>
      <span className="kind">{block.kind} </span><span className="size">{count(block.tokens)}</span>
    </div>
  );
}
