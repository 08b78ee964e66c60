import 'uplot/dist/uPlot.min.css';
import './tokens.css';
import './base.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { onSessionEnd } from './api/client';
import { createQueryClient } from './api/query-client';
import { endSession } from './api/session';
import { App, preload } from './app';
import { ToastProvider } from './parts/toast';
import { applyTheme } from './parts/theme';

declare const process: { readonly env: { readonly NODE_ENV: string } };

const BASE = '/console';

applyTheme();
preload(window.location.pathname.slice(BASE.length).replace(/\/$/, '') || '/');

const client = createQueryClient();

/** Another page begins at its top. Other filters leave the reader where they are, and so does “Back”, whose place the browser knows. */
function goTo(navigate: (to: string, options?: object) => void, to: string, options?: object): void {
  const from = window.location.pathname;
  navigate(to, options);
  if (window.location.pathname !== from) window.scrollTo(0, 0);
}

// Any response may show that the session has ended, that of a change too: then the sign-in page is shown.
onSessionEnd(() => endSession(client));

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <ToastProvider>
          <Router base={BASE} aroundNav={goTo}>
            <App />
          </Router>
        </ToastProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
}

// `npm run dev`: shows what has been built since.
if (process.env.NODE_ENV === 'development') {
  const tagOf = async () => (await fetch('/console', { method: 'HEAD', cache: 'no-store' })).headers.get('etag');
  void tagOf().then((first) => {
    setInterval(
      () =>
        void tagOf()
          .then((tag) => tag !== first && window.location.reload())
          .catch(() => undefined),
      1_000,
    );
  });
}
