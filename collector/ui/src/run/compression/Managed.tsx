// What the program that manages its context said of a compression: when, why, how, and its policy.
import { useState } from "react";

import type { CompressionAudit } from "../../api/types";
import { useApi } from "../../api/useApi";
import { Failed, Loading } from "../../parts/Notices";
import { Said } from "../../parts/Said";
import styles from "./Compression.module.css";
import { triggerSaid } from "./triggers";

export function Managed({ audit }: { audit: CompressionAudit }) {
  const { strategy, trigger, note, fallback, refs } = audit;
  return (
    <>
      {(trigger !== null || strategy !== null) && (
        <p>
          {strategy !== null && <Said className="num">{strategy}</Said>}
          {strategy !== null && trigger !== null && ", "}
          {trigger !== null && <Said>{triggerSaid(trigger)}</Said>}
        </p>
      )}
      {note !== null && (
        <p>
          “<Said>{note}</Said>”
        </p>
      )}
      {fallback !== null && (
        <p className="ink-state">
          Its fallback was used: <Said>{fallback}</Said>
        </p>
      )}
      {refs.policy !== undefined && <Policy target={refs.policy} />}
    </>
  );
}

/** The policy as the program had it, once it is asked for. */
function Policy({ target }: { target: string }) {
  const [isOpen, setOpen] = useState(false);
  const { data, error, again } = useApi<unknown>(isOpen ? `/content/${target}` : null, {}, true);
  return (
    <>
      <button type="button" className="go" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        policy
      </button>
      {isOpen && error !== null && <Failed error={error} what="the policy" onAgain={again} />}
      {isOpen && error === null && data === null && <Loading what="the policy" />}
      {isOpen && data !== null && (
        <pre className={styles.policy}>
          <Said>{JSON.stringify(data, null, 2)}</Said>
        </pre>
      )}
    </>
  );
}
