import styles from "./ContentLink.module.css";
import { Link } from "wouter";

/** Opens a content's page. */
export function ContentLink({ target, children = "content" }: { target: string; children?: string }) {
  return (
    <Link className={`link ${styles.link}`} href={`/content/${target}`} title={target}>
      {children}
    </Link>
  );
}
