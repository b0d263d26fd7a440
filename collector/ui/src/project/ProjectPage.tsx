// The project whose runs are shown: its limits and what it sent today. The operator chooses another one here.
import { useId } from "react";

import { useSession } from "../api/session";
import type { ProjectAnswer, ProjectList, ProjectUsage } from "../api/types";
import { useApi } from "../api/useApi";
import { count, localDateTime } from "../model/format";
import { Failed, Loading } from "../parts/Notices";
import { choose } from "./chosen";
import styles from "./Project.module.css";

export function ProjectPage() {
  const { data, error, again } = useApi<ProjectUsage>("/project");
  const { is_operator } = useSession();
  return (
    <main className={styles.page} aria-label="Project">
      <h1>Project</h1>
      {error !== null && <Failed error={error} what="the project" onAgain={again} />}
      {data === null && error === null && <Loading what="the project" />}
      {data !== null && (
        <>
          {is_operator && <Switch shown={data.name} />}
          <Facts project={data} />
        </>
      )}
    </main>
  );
}

function Facts({ project }: { project: ProjectUsage }) {
  const { spans_per_second, bytes_per_day, stored_bytes } = project.limits;
  return (
    <>
      {project.refused !== null && (
        <p className="failed" role="status">
          What it sends is refused at present: {project.refused}
        </p>
      )}
      <dl className={styles.facts}>
        <dt>name</dt>
        <dd>{project.name}</dd>
        <dt>made</dt>
        <dd>{localDateTime(project.created)}</dd>
        <dt>encryption at rest</dt>
        <dd>{project.encryption === "on" ? "on: texts are not searched" : project.encryption.replace("_", " ")}</dd>
        <dt>arrived today (UTC)</dt>
        <dd>
          {count(project.spans_today)} spans and log events, {count(project.bytes_today)} bytes
        </dd>
        <dt>spans and log events per second</dt>
        <dd>{spans_per_second === null ? "no limit" : `at most ${count(spans_per_second)}`}</dd>
        <dt>bytes per day</dt>
        <dd>{bytes_per_day === null ? "no limit" : `at most ${count(bytes_per_day)}`}</dd>
        <dt>stored bytes</dt>
        <dd>{stored_bytes === null ? "no limit" : `at most ${count(stored_bytes)}`}</dd>
      </dl>
    </>
  );
}

function Switch({ shown }: { shown: string }) {
  const { data, error, again } = useApi<ProjectList>("/projects");
  const id = useId();
  if (error !== null) return <Failed error={error} what="the projects" onAgain={again} />;
  return (
    <p>
      <label htmlFor={id}>Show the runs of </label>
      <select id={id} className="input" value={shown} onChange={(event) => choose(event.target.value)}>
        {(data?.items ?? [{ name: shown } as ProjectAnswer]).map(({ name }) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </p>
  );
}
