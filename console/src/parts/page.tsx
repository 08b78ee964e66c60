import { type ReactNode, useEffect, useLayoutEffect, useRef } from 'react';
import { Link } from 'wouter';
import { visible } from './format';
import { Foreign } from './text';

interface PageProps {
  readonly title: string;
  /** Beside the title, like a state. */
  readonly badge?: ReactNode;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  /** The page above. */
  readonly up?: { readonly to: string; readonly name: string };
  readonly children: ReactNode;
}

/** What has had the focus since the last change of page, as long as the user has not moved it. */
let leftAt: Element | null = null;

/** To be used by what shows the page of a path. */
export function useTurns(path: string): void {
  useLayoutEffect(() => {
    leftAt = document.activeElement;
  }, [path]);
}

/** Data that comes after the user has gone on, with the keyboard or into a field, must not take the focus back. */
function focusArrival(heading: HTMLElement | null): void {
  const { activeElement: at, body } = document;
  if (at !== leftAt && at !== body && at !== null) return;
  heading?.focus({ preventScroll: true });
  leftAt = heading;
}

/** The frame of every page. Its heading has the focus after a change of page, so that screen readers begin there. */
export function Page({ title, badge, lead, actions, up, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${visible(title)} · Waybill`;
  }, [title]);
  useEffect(() => focusArrival(heading.current), []);
  return (
    <div className="page">
      <div className="page-head">
        <div>
          {up && (
            <p className="crumb">
              <Link href={up.to}>{up.name}</Link>
            </p>
          )}
          <div className="row">
            <h1 ref={heading} tabIndex={-1}>
              <Foreign>{title}</Foreign>
            </h1>
            {badge}
          </div>
          {lead && <p>{lead}</p>}
        </div>
        {actions && <div className="row">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

export function Card({
  title,
  actions,
  flush,
  children,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  flush?: boolean;
  children: ReactNode;
}) {
  return (
    <section className={flush ? 'card flush' : 'card'}>
      {(title !== undefined || actions !== undefined) && (
        <header>
          <h2>{title}</h2>
          {actions && <div className="row">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false)
        .map(([name, value]) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export interface FigureProps {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
}

export function Figures({ figures }: { figures: readonly FigureProps[] }) {
  return (
    <dl className="figures">
      {figures.map(({ name, value, note }) => (
        <div key={name} className="figure">
          <dt>{name}</dt>
          <dd className="value">{value}</dd>
          {note !== undefined && <dd className="note">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}
