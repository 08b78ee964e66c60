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

/**
 * Shows a page as soon as its script is loaded. React's `lazy` shows the placeholder for at least 300 ms, a third of the time until
 * the first page was visible.
 */
export function Shown({ screen }: { screen: Screen }) {
  const [shown, setShown] = useState(screen.ready);
  const [error, setError] = useState<Error>();
  useEffect(() => {
    void screen.load().then(setShown, (failed: Error) => setError(failed));
  }, [screen]);
  if (error) throw error;
  return shown ? <shown.View /> : <Loading />;
}
