// The widest column: what the run waits for, the error that came out of it, its first suspect, what is under way, or its last answer.
import { Link } from "wouter";

import type { Happened, RunSummary } from "../api/types";
import { plainLine } from "../model/plainLine";
import { Said } from "../parts/Said";
import { saidPlainly } from "../parts/said";
import { Strength } from "../parts/Strength";
import { runAddress } from "../parts/TurnLink";
import styles from "./RunsPage.module.css";

const KINDS: Readonly<Record<Happened["kind"], string>> = {
  question: "question",
  error: "error",
  suspect: "suspect",
  under_way: "under way",
  answer: "answer",
};

/** One line that leads to its moment. */
export function WhatHappened({ run }: { run: Pick<RunSummary, "run" | "happened"> }) {
  const { happened } = run;
  if (happened === null) return null;
  return (
    <div className={happened.kind === "answer" ? styles.answer : ""} title={saidPlainly(happened.text)}>
      {happened.kind === "suspect" && happened.strength !== null && (
        <span className={styles.strength}>
          <Strength word={happened.strength} />
        </span>
      )}{" "}
      <Link className={styles.moment ?? ""} href={runAddress(run.run, happened.seq)}>
        <span className="visually-hidden">{KINDS[happened.kind]}: </span>
        <Line happened={happened} />
      </Link>
      {happened.kind === "question" && (
        <>
          {" "}
          <Link className="go" href={runAddress(run.run, happened.seq)} aria-label="answer the question of this run">
            answer
          </Link>
        </>
      )}
    </div>
  );
}

function Line({ happened: { kind, text, about, turn } }: { happened: Happened }) {
  switch (kind) {
    case "question":
      return (
        <Said className="ink-state">{about !== null && text === `run ${about}` ? `May it run ${about}?` : text}</Said>
      );
    case "error":
      return (
        <>
          <Said className="ink-bad">{text}</Said> {about !== null && <Said className="ink-faint">{about}</Said>}
        </>
      );
    case "suspect":
      return (
        <>
          {turn !== null && `turn ${turn}: `}
          <Said>{text}</Said>
        </>
      );
    case "under_way":
      return (
        <>
          <span className="ink-user">now</span> <Said>{text}</Said>
        </>
      );
    case "answer":
      return (
        <span className="ink-soft">
          “<Said>{plainLine(text)}</Said>”
        </span>
      );
  }
}
