import { useEffect, useState } from 'react';
import { store, stored } from '../api/storage';

export type Theme = 'light' | 'dark';

const STORED = 'waybill-theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');

const chosen = (): Theme | undefined => {
  const value = stored(STORED);
  return value === 'light' || value === 'dark' ? value : undefined;
};

/** As the system is, unless the reader has chosen. Called before the first picture. */
export function applyTheme(theme: Theme = chosen() ?? (system.matches ? 'dark' : 'light')): Theme {
  document.documentElement.dataset.theme = theme;
  return theme;
}

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => applyTheme());
  useEffect(() => {
    const follow = () => chosen() ?? setTheme(applyTheme());
    system.addEventListener('change', follow);
    return () => system.removeEventListener('change', follow);
  }, []);
  const choose = (wanted: Theme) => {
    store(STORED, wanted);
    setTheme(applyTheme(wanted));
  };
  return [theme, choose];
}
