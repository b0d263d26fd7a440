// Scores, labels and notes about a turn, and the forms for new ones.
import { useState } from "react";

import { type ApiError, remove } from "../../api/client";
import { useMay } from "../../api/session";
import type { Note, Page, RecordedScore, RunTurn } from "../../api/types";
import { useApi } from "../../api/useApi";
import { localDateTime } from "../../model/format";
import { Copy } from "../../parts/Copy";
import { Said } from "../../parts/Said";
import { runPath, useOnPage } from "../OnPage";
import { Block } from "../turn/Block";
import { NoteForm } from "./NoteForm";
import styles from "./NotesBlock.module.css";
import { refreshNotes, useAdded } from "./refresh";
import { ScoreForm } from "./ScoreForm";
import { useSpansOf } from "./useSpansOf";

export function NotesBlock({ turn }: { turn: RunTurn }) {
  const { run } = useOnPage();
  const added = useAdded();
  const notes = useApi<Page<Note>>(`${runPath(run.run)}/notes`, {}, false, added);
  const scores = useApi<Page<RecordedScore>>(`${runPath(run.run)}/scores`, { latest: true }, false, added);
  const spans = useSpansOf(turn);
  const [form, setForm] = useState<"score" | "note" | null>(null);
  const mine = (notes.data?.items ?? []).filter(
    (note) => note.turn === turn.number || (note.seq !== null && note.seq >= turn.seq && note.seq <= turn.last_seq),
  );
  const scored = (scores.data?.items ?? []).filter((score) => score.span !== null && spans.has(score.span));
  return (
    <Block label="Notes" of="by people">
      {scored.map((score) => (
        <p key={score.id} className={styles.note}>
          <span className="tag">
            <Said>{`${score.name} ${String(score.label ?? score.value)}`}</Said>
          </span>{" "}
          <Said>{score.comment ?? ""}</Said> <By who={score.author ?? score.key ?? score.source} time={score.time} />
        </p>
      ))}
      {mine.map((note) => (
        <OneNote key={note.id} note={note} />
      ))}
      {form === "score" && <ScoreForm seq={turn.seq} onDone={() => setForm(null)} />}
      {form === "note" && <NoteForm seq={turn.seq} onDone={() => setForm(null)} />}
      {form === null && (
        <div className={styles.acts}>
          <button type="button" className="button" onClick={() => setForm("score")}>
            Score this turn…
          </button>
          <button type="button" className="button" onClick={() => setForm("note")}>
            Note…
          </button>
          <Copy className="button quiet" text={momentUrl(run.run, turn.seq)} label="Copy link to this moment" />
        </div>
      )}
    </Block>
  );
}

const momentUrl = (run: string, seq: number): string =>
  new URL(`runs/${encodeURIComponent(run)}?at=${seq}`, document.baseURI).toString();

function OneNote({ note }: { note: Note }) {
  const may = useMay("ingest");
  const [problem, setProblem] = useState<string | null>(null);
  const drop = () =>
    void remove(`${runPath(note.run)}/notes/${encodeURIComponent(note.id)}`).then(refreshNotes, (error: ApiError) =>
      setProblem(error.message),
    );
  return (
    <p className={styles.note}>
      {note.label !== null && (
        <>
          <span className="tag state">
            <Said>{note.label}</Said>
          </span>{" "}
        </>
      )}
      <Said>{note.text ?? ""}</Said> <By who={note.author ?? note.key} time={note.time} />{" "}
      {may && (
        <button type="button" className="go" onClick={drop}>
          delete
        </button>
      )}
      {problem !== null && (
        <span className="ink-bad" role="alert">
          {" "}
          {problem}
        </span>
      )}
    </p>
  );
}

function By({ who, time }: { who: string | null; time: string }) {
  return (
    <span className="sub">
      {who !== null && (
        <>
          by <Said>{who}</Said>,{" "}
        </>
      )}
      {localDateTime(time)}
    </span>
  );
}
