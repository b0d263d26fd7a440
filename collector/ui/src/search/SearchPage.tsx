// Search in the decisions and the texts of all runs. Every condition stands in the address.
import { useCallback } from "react";
import { useSearchParams } from "wouter";

import type { Condition, SetCondition } from "./conditions";
import { OF_DECISIONS, OF_TEXTS } from "./conditions";
import { Decisions } from "./Decisions";
import { Texts } from "./Texts";
import conditions from "../parts/Conditions.module.css";
import { Tabs } from "../parts/Tabs";
import styles from "./Search.module.css";

const KINDS = [
  { id: "decisions", name: "Decisions" },
  { id: "texts", name: "Texts" },
] as const;

export function SearchPage() {
  const [query, setQuery] = useSearchParams();
  const isTexts = query.get("for") === "texts";
  const fields = isTexts ? OF_TEXTS : OF_DECISIONS;
  const set = useCallback<SetCondition>(
    (name, value) =>
      setQuery((before) => {
        if (value === null || value === "") before.delete(name);
        else before.set(name, value);
        return before;
      }),
    [setQuery],
  );
  const turn = (to: "decisions" | "texts") =>
    setQuery(
      (before) =>
        new URLSearchParams({
          for: to,
          ...Object.fromEntries(
            ["since", "until"].flatMap((name) => (before.has(name) ? [[name, before.get(name) ?? ""]] : [])),
          ),
        }),
    );
  const params = Object.fromEntries(fields.map(({ name }) => [name, query.get(name)]));
  return (
    <main className={styles.page} aria-label="Search">
      <h1 className="visually-hidden">Search</h1>
      <div className={styles.kinds}>
        <Tabs label="Search for" choices={KINDS} chosen={isTexts ? "texts" : "decisions"} onChoose={turn} />
        <span className="sub">
          {isTexts
            ? "What was said in any run: messages, arguments, results, reasoning, states."
            : "What agents decided in any run: tools with their arguments, answers, handoffs."}
        </span>
      </div>
      <form
        className={isTexts ? conditions.line : `${conditions.line} ${styles.many}`}
        role="search"
        aria-label="Conditions"
        onSubmit={(event) => event.preventDefault()}
      >
        {isTexts && (
          <Field
            condition={{ name: "q", values: null, title: 'words, "phrases", or, -not' }}
            label="words"
            value={query.get("q")}
            isWide
            set={set}
          />
        )}
        {fields.map((condition) => (
          <Field
            key={condition.name}
            condition={condition}
            label={condition.name}
            value={query.get(condition.name)}
            set={set}
          />
        ))}
      </form>
      {isTexts ? <Texts words={query.get("q")} params={params} set={set} /> : <Decisions params={params} set={set} />}
    </main>
  );
}

type FieldProps = { condition: Condition; label: string; value: string | null; isWide?: boolean; set: SetCondition };

/** A condition: chosen from its values, or written and sent with Enter or on leaving the field. */
function Field({ condition, label, value, isWide = false, set }: FieldProps) {
  const { name, values, title } = condition;
  return (
    <label title={title} className={isWide ? styles.words : ""}>
      {label}
      {values !== null ? (
        <select className="input" value={value ?? ""} onChange={(event) => set(name, event.target.value)}>
          <option value="">any</option>
          {values.map((each) => (
            <option key={each} value={each}>
              {each.replaceAll("_", " ")}
            </option>
          ))}
        </select>
      ) : (
        <input
          key={value ?? ""}
          className="input"
          size={isWide ? 40 : 10}
          defaultValue={value ?? ""}
          placeholder={name === "argument" ? "name=value" : isWide ? 'parcel "is lost" -refunded' : ""}
          onKeyDown={(event) => event.key === "Enter" && set(name, event.currentTarget.value.trim())}
          onBlur={(event) => event.target.value.trim() !== (value ?? "") && set(name, event.target.value.trim())}
        />
      )}
    </label>
  );
}
