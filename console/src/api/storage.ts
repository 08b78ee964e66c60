/** What the tabs of this browser share. Null where there is nothing, or where the browser refuses storage, as it does with cookies. */
export function stored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function store(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // The page works without.
  }
}
