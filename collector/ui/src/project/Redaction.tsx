// What is masked in the data of the project before it is stored, and the job that runs the rules over what is stored.
import type { RedactionJob, Redaction as Rules } from "../api/types";
import { useApi } from "../api/useApi";
import { count, localDateTime } from "../model/format";
import { Failed, Loading } from "../parts/Notices";
import styles from "./Project.module.css";

export function Redaction() {
  const { data, error, again } = useApi<Rules>("/project/redaction");
  if (error !== null) return <Failed error={error} what="the redaction rules" onAgain={again} />;
  if (data === null) return <Loading what="the redaction rules" />;
  const patterns = Object.entries(data.patterns);
  return (
    <section aria-label="Redaction">
      <h2>Redaction</h2>
      <dl className={styles.facts}>
        <dt>masked keys</dt>
        <dd>{data.keys.join(", ") || "none"}</dd>
        <dt>built-in patterns</dt>
        <dd>{data.presets.join(", ") || "none"}</dd>
        <dt>patterns</dt>
        <dd>{patterns.map(([name, pattern]) => `${name}: ${pattern}`).join("; ") || "none"}</dd>
        <dt>function of the operator</dt>
        <dd>{!data.hook ? "not called" : data.has_hook ? "called" : "not there: everything is masked"}</dd>
        {data.job !== null && <Job job={data.job} />}
      </dl>
    </section>
  );
}

function Job({ job }: { job: RedactionJob }) {
  const changed = Object.values(job.counts).reduce((sum, kind) => sum + kind.changed, 0);
  const state = job.ended === null ? `${job.state}, at ${job.phase}` : `${job.state}, ${localDateTime(job.ended)}`;
  return (
    <>
      <dt>run over what is stored</dt>
      <dd>
        {state}: {count(changed)} changed
        {job.failed !== null && `; waits: ${job.failed}`}
        {job.outdated && "; the rules were changed since then"}
      </dd>
    </>
  );
}
