import { type ComponentType, useCallback, useEffect, useRef, useState } from 'react';
import { ApiError, unreachable } from './api/client';
import { waitAfter } from './api/query-client';
import { Failure, Loading } from './parts/states';

interface Loaded {
  readonly View: ComponentType;
}

/** A page whose script is loaded when it is needed, or before. */
export class Screen {
  private loaded: Loaded | undefined;

  constructor(private readonly ask: () => Promise<{ readonly default: ComponentType }>) {}

  /** Undefined until it has been loaded. */
  get ready(): Loaded | undefined {
    return this.loaded;
  }

  /** A second time is free. */
  async load(): Promise<Loaded> {
    if (!this.loaded) {
      this.loaded = { View: (await this.ask()).default };
      marked()?.removeItem(LOADED_AGAIN);
    }
    return this.loaded;
  }
}

/** The console has been built anew since this page was loaded: the scripts that it names are gone. */
export class NewRelease extends Error {}

/** The release that a page has been loaded anew for: once, as it might not help. */
const LOADED_FOR = 'waybill-loaded-for';
/** Set once the page has been loaded anew for a script of its own release. */
const LOADED_AGAIN = 'waybill-loaded-again';
const RELOAD_MS = 5_000;

/** Undefined in a browser that refuses storage. */
function marked(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}

const textAt = (url: string): Promise<string | undefined> =>
  fetch(url, { cache: 'no-store' })
    .then(async (response) => (response.ok ? response.text() : undefined))
    .catch(() => undefined);

/**
 * Finds out why a script did not come. After an upgrade the page is loaded anew: this one was just about to show another page. So it is
 * once the service is back, as a browser does not request a script again that it has failed to load.
 * @throws `failed`, ApiError where the service does not answer, or NewRelease where loading anew has not helped
 */
async function recover(failed: Error): Promise<never> {
  const own = document.querySelector('script[type=module]')?.getAttribute('src') ?? '';
  const page = await textAt('/console');
  if (page === undefined) throw unreachable();
  const isSame = page.includes(own);
  // Anew the page would be blank.
  if (isSame && (await textAt(own)) === undefined) throw failed;
  const [mark, value] = isSame ? [LOADED_AGAIN, 'true'] : [LOADED_FOR, own];
  const marks = marked();
  // Without a mark it could be loaded anew for ever.
  if (!marks || marks.getItem(mark) === value) {
    // The user may want to try that again.
    if (isSame) marks?.removeItem(mark);
    throw isSame ? failed : new NewRelease('The console has a new release');
  }
  marks.setItem(mark, value);
  window.location.reload();
  // The browser asks first where there is a draft, and the user may stay.
  return new Promise((_resolve, reject) => setTimeout(() => reject(failed), RELOAD_MS));
}

const FIRST_WAIT_MS = 2_000;

interface Failed {
  readonly error: Error;
  /** In a row. */
  readonly failures: number;
}

/**
 * Shows a page as soon as its script is loaded. React's `lazy` shows the placeholder for at least 300 ms, a third of the time until
 * the first page was visible. While the service does not answer, the script is requested again by itself, as data is.
 */
export function Shown({ screen }: { screen: Screen }) {
  const [shown, setShown] = useState(screen.ready);
  const [failed, setFailed] = useState<Failed>();
  const isLoading = useRef(false);
  const load = useCallback(() => {
    // The second of two failures at once would count as one that loading the page anew has not helped with.
    if (isLoading.current) return;
    isLoading.current = true;
    const fail = (error: Error) => setFailed((before) => ({ error, failures: (before?.failures ?? 0) + 1 }));
    void screen
      .load()
      .catch(recover)
      .then(setShown, fail)
      .finally(() => (isLoading.current = false));
  }, [screen]);
  useEffect(load, [load]);
  useEffect(() => {
    if (!failed) return undefined;
    const timer = setTimeout(load, waitAfter(failed.error, FIRST_WAIT_MS, failed.failures));
    window.addEventListener('online', load);
    return () => {
      clearTimeout(timer);
      window.removeEventListener('online', load);
    };
  }, [failed, load]);
  if (shown) return <shown.View />;
  if (!failed) return <Loading />;
  if (!(failed.error instanceof ApiError)) throw failed.error;
  return <Failure error={failed.error} retry={load} />;
}
