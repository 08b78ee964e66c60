import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ApiError } from '../api/client';
import { useMay } from '../api/session';
import { Button } from './button';
import { Countdown } from './countdown';
import { Icon, type IconName } from './icons';
import { Card, Figures, Page } from './page';

export function Loading({ lines = 4 }: { lines?: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

const BLANK = '\u00a0';

/** So many figures that are on their way, as high as they will be: what stands below them does not move. */
function LoadingFigures({ figures }: { figures: number }) {
  const blank = Array.from({ length: figures }, (_, index) => BLANK.repeat(index + 1));
  return (
    <div className="skeleton of-figures" role="status" aria-label="Loading">
      <Figures figures={blank.map((name) => ({ name, value: BLANK, note: BLANK }))} />
    </div>
  );
}

export function Empty({
  icon,
  title,
  children,
  action,
}: {
  icon: IconName;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="state">
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

/** An error with its cause, the remedy, and the id to quote. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error instanceof ApiError && error.status === 403 && error.code === 'insufficient_permissions') {
    return <NoPermission scope={requiredScope(error)} message={error.message} />;
  }
  // The same request is refused for the same reason.
  const isFinal = error instanceof ApiError && error.status === 400;
  return (
    <div className="state" role="alert">
      <Icon name="warn" size={28} />
      <h2>{error instanceof ApiError ? error.message : 'Something went wrong'}</h2>
      {saidOf(error).map((said) => (
        <p key={said}>{said}</p>
      ))}
      <ErrorFacts error={error} />
      {retry && !isFinal && (
        <Button icon="refresh" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

const requiredScope = ({ details: { required } }: ApiError): string => (typeof required === 'string' ? required : '');

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : JSON.stringify(error));

function ErrorFacts({ error }: { error: unknown }) {
  if (!(error instanceof ApiError)) return <p>{messageOf(error)}</p>;
  return (
    <>
      {error.suggestion && <p>{error.suggestion}</p>}
      {error.retryAtMs !== undefined && <Countdown key={error.retryAtMs} untilMs={error.retryAtMs} />}
      <p className="hint">
        <code>{error.code}</code>
        {error.requestId && (
          <>
            {' '}
            · request <code>{error.requestId}</code>
          </>
        )}
      </p>
    </>
  );
}

/** What a validation found, of every field. */
const saidOf = (error: unknown): string[] =>
  error instanceof ApiError ? [...new Set(Object.values(error.validation).flat())] : [];

/** Below a form, or beside a button. */
export function InlineError({ error }: { error: unknown }) {
  if (error === null || error === undefined || (error instanceof ApiError && error.endsSession)) return null;
  const said = saidOf(error);
  return (
    <div className="notice bad" role="alert">
      <div>
        <strong>{said.length > 0 ? said.join('. ') : messageOf(error)}</strong>
        {error instanceof ApiError && <ErrorFacts error={error} />}
      </div>
    </div>
  );
}

export function NoPermission({ scope, message }: { scope: string; message?: string }) {
  return (
    <Empty icon="keys" title="Your key cannot open this page">
      {scope ? (
        <>
          It lacks the scope <code>{scope}</code>. Sign in with a key that has it.
        </>
      ) : (
        message
      )}
    </Empty>
  );
}

/** Shows its content to keys with the scope, and names the missing scope to others. */
export function Requires({ scope, children }: { scope: string; children: ReactNode }) {
  if (useMay()(scope)) return children;
  return (
    <Page title="Not available to this key">
      <NoPermission scope={scope} />
    </Page>
  );
}

/** The frame of a page about one thing: its states until the thing is there. */
export function LoadedPage<T>({
  query,
  title,
  up,
  children,
}: {
  query: UseQueryResult<T>;
  title: string;
  up: { readonly to: string; readonly name: string };
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) {
    return (
      <>
        {children(query.data)}
        <Outdated query={query} />
      </>
    );
  }
  return (
    <Page title={title} up={up}>
      <Card>
        <Loaded query={query}>{() => null}</Loaded>
      </Card>
    </Page>
  );
}

/**
 * Below data that could not be loaded again: otherwise it would look like the present state. It stays in sight at the window's end,
 * and moves nothing of what it is about. Screen readers read what is put into a region that was there before.
 */
function Outdated({ query: { isError, error } }: { query: UseQueryResult }) {
  return (
    <div className="outdated" role="status">
      {isError && (
        <div className="notice warn">
          <p>
            <strong>Not up to date.</strong> {messageOf(error)}
          </p>
        </div>
      )}
    </div>
  );
}

/**
 * The states of a request: loading, refused, loaded. Loaded data stays while it is loaded again, and when that fails. Data of the filter
 * or page before, shown until the new data is there, is marked.
 */
export function Loaded<T>({
  query,
  children,
  lines,
  figures,
}: {
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
  lines?: number;
  /** How many figures it begins with, instead of lines. */
  figures?: number;
}) {
  if (query.data !== undefined) {
    return (
      <>
        <div className="loaded" aria-busy={query.isPlaceholderData}>
          {children(query.data)}
        </div>
        <Outdated query={query} />
      </>
    );
  }
  if (query.isError) return <Failure error={query.error} retry={() => void query.refetch()} />;
  if (figures !== undefined) return <LoadingFigures figures={figures} />;
  return <Loading {...(lines !== undefined && { lines })} />;
}
