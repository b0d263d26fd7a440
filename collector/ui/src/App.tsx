// The frame of all pages: who may see them, the bar at the top, and which page an address is.
import { type ComponentType, lazy, Suspense, useState } from "react";
import { Redirect, Route, Router, Switch } from "wouter";

import { useConnection } from "./api/connection";
import { SessionContext } from "./api/session";
import type { Session } from "./api/types";
import { useApi } from "./api/useApi";
import { ConnectionNotice } from "./parts/ConnectionNotice";
import { Failed, Loading, Missing } from "./parts/Notices";
import { SignIn, SignInAgain } from "./parts/SignIn";
import { TopBar } from "./parts/TopBar";
import { RunsPage } from "./runs/RunsPage";

/** The path below which the collector is served, without a slash at its end. */
const BASE = new URL(document.baseURI).pathname.replace(/\/$/, "");

/** A page that is loaded when somebody opens it: the list of runs does not wait for the others. */
function page<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => ({ default: await load() }));
}
const RunPage = page(() => import("./run/RunPage").then((module) => module.RunPage));
const AskPage = page(() => import("./run/again/AskPage").then((module) => module.AskPage));
const ComparePage = page(() => import("./compare/ComparePage").then((module) => module.ComparePage));
const CallsPage = page(() => import("./calls/CallsPage").then((module) => module.CallsPage));
const AcrossPage = page(() => import("./across/AcrossPage").then((module) => module.AcrossPage));
const ApprovalsPage = page(() => import("./approvals/ApprovalsPage").then((module) => module.ApprovalsPage));
const ConversationsPage = page(() =>
  import("./conversations/ConversationsPage").then((module) => module.ConversationsPage),
);
const ContentPage = page(() => import("./content/ContentPage").then((module) => module.ContentPage));
const ProjectPage = page(() => import("./project/ProjectPage").then((module) => module.ProjectPage));
const StoragePage = page(() => import("./storage/StoragePage").then((module) => module.StoragePage));
const SearchPage = page(() => import("./search/SearchPage").then((module) => module.SearchPage));

export function App() {
  const asked = useApi<Session>("/session");
  const [changed, setChanged] = useState<Session | null>(null);
  const connection = useConnection();
  const session = changed ?? asked.data;
  if (session === null) return asked.error === null ? null : <FirstAnswer asked={asked} />;
  if (session.needs_key && !session.scopes.includes("read")) return <SignIn onSession={setChanged} />;
  return (
    <SessionContext value={session}>
      <Router base={BASE}>
        <div className="app">
          <TopBar session={session} onSession={setChanged} />
          <ConnectionNotice />
          <Suspense fallback={<Loading what="the page" />}>
            <Switch>
              <Route path="/">
                <RunsPage />
              </Route>
              <Route path="/runs">
                <Redirect to="/" replace />
              </Route>
              <Route path="/runs/:run">{({ run }) => <RunPage key={run} run={run} />}</Route>
              <Route path="/runs/:run/ask/:turn">
                {({ run, turn }) => <AskPage key={`${run} ${turn}`} run={run} turn={Number(turn)} />}
              </Route>
              <Route path="/compare/:a/:b">{({ a, b }) => <ComparePage key={`${a} ${b}`} a={a} b={b} />}</Route>
              <Route path="/calls">
                <CallsPage />
              </Route>
              <Route path="/across">
                <AcrossPage />
              </Route>
              <Route path="/approvals">
                <ApprovalsPage />
              </Route>
              <Route path="/conversations">
                <ConversationsPage />
              </Route>
              <Route path="/content/:ref">{({ ref }) => <ContentPage key={ref} target={ref} />}</Route>
              <Route path="/project">
                <ProjectPage />
              </Route>
              <Route path="/storage">
                <StoragePage />
              </Route>
              <Route path="/search">
                <SearchPage />
              </Route>
              <Route>
                <Missing />
              </Route>
            </Switch>
          </Suspense>
          {connection.kind === "signed out" && <SignInAgain onSession={setChanged} />}
        </div>
      </Router>
    </SessionContext>
  );
}

/** The collector did not say who may see what: that is tried again by itself. */
function FirstAnswer({ asked }: { asked: Pick<ReturnType<typeof useApi<Session>>, "error" | "again"> }) {
  return (
    <main>
      <h1 className="visually-hidden">Playhead</h1>
      <ConnectionNotice />
      {asked.error !== null && <Failed error={asked.error} what="who may see what" onAgain={asked.again} />}
    </main>
  );
}
