import { type ComponentType, useEffect, useState } from 'react';
import { Loading } from './parts/states';

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
    this.loaded ??= { View: (await this.ask()).default };
    return this.loaded;
  }
}

/** The console has been built anew since this page was loaded: the scripts that it names are gone. */
export class NewRelease extends Error {}

/** The release that a page has been loaded anew for: once, as it might not help. */
const LOADED_FOR = 'waybill-loaded-for';

/**
 * Finds out why a script did not come. After an upgrade the page is loaded anew: this one was just about to show another page.
 * @throws `failed`, or NewRelease where loading anew has not helped
 */
async function recover(failed: Error): Promise<never> {
  const own = document.querySelector('script[type=module]')?.getAttribute('src') ?? '';
  const page = await fetch('/console', { cache: 'no-store' })
    .then(async (response) => (response.ok ? response.text() : undefined))
    .catch(() => undefined);
  if (page === undefined || page.includes(own)) throw failed;
  if (sessionStorage.getItem(LOADED_FOR) === own) throw new NewRelease('The console has a new release');
  sessionStorage.setItem(LOADED_FOR, own);
  window.location.reload();
  return new Promise(() => undefined);
}

/**
 * Shows a page as soon as its script is loaded. React's `lazy` shows the placeholder for at least 300 ms, a third of the time until
 * the first page was visible.
 */
export function Shown({ screen }: { screen: Screen }) {
  const [shown, setShown] = useState(screen.ready);
  const [error, setError] = useState<Error>();
  useEffect(() => {
    screen
      .load()
      .catch(recover)
      .then(setShown, (failed: Error) => setError(failed));
  }, [screen]);
  if (error) throw error;
  return shown ? <shown.View /> : <Loading />;
}
