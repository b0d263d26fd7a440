// Who looks: what the key behind this browser's session may do.
import { createContext, useContext } from "react";

import type { Session } from "./types";

/** Without keys, everybody who reaches the collector may do everything. */
const NOBODY: Session = { needs_key: false, scopes: [], is_operator: false };

export const SessionContext = createContext<Session>(NOBODY);

export const useSession = (): Session => useContext(SessionContext);

/** Whether the reader may do what needs this scope. */
export const useMay = (scope: "read" | "ingest" | "admin"): boolean =>
  useContext(SessionContext).scopes.includes(scope);
