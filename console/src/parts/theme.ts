import { useEffect, useState } from 'react';

export type Theme = 'light' | 'dark';

const STORED = 'waybill-theme';
const system = window.matchMedia('(prefers-color-scheme: dark)');

const stored = (): Theme | undefined => {
  const value = localStorage.getItem(STORED);
  return value === 'light' || value === 'dark' ? value : undefined;
};

/** As the system is, unless the reader has chosen. Called before the first picture. */
export function applyTheme(theme: Theme = stored() ?? (system.matches ? 'dark' : 'light')): Theme {
  document.documentElement.dataset.theme = theme;
  return theme;
}

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => applyTheme());
  useEffect(() => {
    const follow = () => stored() ?? setTheme(applyTheme());
    system.addEventListener('change', follow);
    return () => system.removeEventListener('change', follow);
  }, []);
  const choose = (chosen: Theme) => {
    localStorage.setItem(STORED, chosen);
    setTheme(applyTheme(chosen));
  };
  return [theme, choose];
}
