/** For browsers that refuse storage, as some do together with cookies: lost when the page is left. */
const kept = new Map<string, string>();

/** What the tabs of this browser share. */
export function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return kept.get(name) ?? null;
  }
}

export function store(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    kept.set(name, value);
  }
}
