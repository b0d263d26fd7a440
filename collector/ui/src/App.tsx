// The frame of all pages: who may see them, the bar at the top, and which page an address is.
import { useEffect, useState } from "react";
import { Redirect, Route, Router, Switch } from "wouter";

import { ApiError, get } from "./api/client";
import type { Session } from "./api/types";
import { AcrossPage } from "./across/AcrossPage";
import { ApprovalsPage } from "./approvals/ApprovalsPage";
import { CallsPage } from "./calls/CallsPage";
import { ComparePage } from "./compare/ComparePage";
import { ContentPage } from "./content/ContentPage";
import { Failed, Missing } from "./parts/Notices";
import { SignIn } from "./parts/SignIn";
import { TopBar } from "./parts/TopBar";
import { RunPage } from "./run/RunPage";
import { RunsPage } from "./runs/RunsPage";
import { SearchPage } from "./search/SearchPage";

/** The path below which the collector is served, without a slash at its end. */
const BASE = new URL(document.baseURI).pathname.replace(/\/$/, "");

export function App() {
  const [session, setSession] = useState<Session | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    get<Session>("/session").then(setSession, setError);
  }, []);
  if (error !== null) return <Failed error={error} />;
  if (session === null) return null;
  if (session.needs_key && !session.scopes.includes("read")) return <SignIn onSession={setSession} />;
  return (
    <Router base={BASE}>
      <div className="app">
        <TopBar session={session} onSession={setSession} />
        <Switch>
          <Route path="/">
            <RunsPage />
          </Route>
          <Route path="/runs">
            <Redirect to="/" replace />
          </Route>
          <Route path="/runs/:run">{({ run }) => <RunPage key={run} run={run} />}</Route>
          <Route path="/compare/:a/:b">{({ a, b }) => <ComparePage key={`${a} ${b}`} a={a} b={b} />}</Route>
          <Route path="/calls">
            <CallsPage />
          </Route>
          <Route path="/across">
            <AcrossPage />
          </Route>
          <Route path="/approvals">
            <ApprovalsPage session={session} />
          </Route>
          <Route path="/content/:ref">{({ ref }) => <ContentPage key={ref} target={ref} />}</Route>
          <Route path="/search">
            <SearchPage />
          </Route>
          <Route>
            <Missing />
          </Route>
        </Switch>
      </div>
    </Router>
  );
}
