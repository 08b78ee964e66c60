import { type QueryClient, type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState } from 'react';
import { DRAFTS, useSession } from '../../api/session';
import type { Template } from '../../api/types';

export interface Draft {
  readonly name: string;
  readonly subject: string;
  readonly html: string;
  readonly text: string;
}

/** The editor's fields, with what is saved. */
export function draftOf(template: Template | undefined): Draft {
  if (!template) return { name: '', subject: 'Hello {{ name }}', html: '<p>Hello {{ name }},</p>', text: '' };
  return { name: template.name, subject: template.subject, html: template.html ?? '', text: template.text ?? '' };
}

export const isSame = (one: Draft, other: Draft): boolean => JSON.stringify(one) === JSON.stringify(other);

export interface Begun {
  readonly draft: Draft;
  /** The version that the draft has begun from. */
  readonly base: Template | undefined;
}

/** Where the draft of a template is kept; without an id, of one that is new. */
export function useDraftKey(): (id?: string) => QueryKey {
  const { organization } = useSession();
  const owner = organization?.id;
  return useCallback((id = 'new') => [DRAFTS, owner, 'template', id], [owner]);
}

let asking: QueryClient | undefined;

/** The browser asks before the tab with a draft is closed or loaded anew, whatever page it shows by then. */
function askBeforeLeaving(client: QueryClient): void {
  if (asking === client) return;
  asking = client;
  window.addEventListener('beforeunload', (event) => {
    if (client.getQueriesData({ queryKey: [DRAFTS] }).some(([, draft]) => draft !== undefined)) event.preventDefault();
  });
}

/** What is not saved yet: kept while other pages are looked at, and when the session ends, as long as the tab. */
export function useDraft(template: Template | undefined) {
  const client = useQueryClient();
  const draftKey = useDraftKey();
  const id = template?.id;
  const [kept] = useState(() => client.getQueryData<Begun>(draftKey(id)));
  const [draft, setDraft] = useState(kept?.draft ?? draftOf(template));
  const [base, setBase] = useState(kept ? kept.base : template);
  const isChanged = !isSame(draft, draftOf(base));
  useEffect(() => {
    const queryKey = draftKey(id);
    client.setQueryDefaults(queryKey, { gcTime: Infinity });
    if (isChanged) {
      askBeforeLeaving(client);
      client.setQueryData<Begun>(queryKey, { draft, base });
    } else {
      client.removeQueries({ queryKey });
    }
  }, [client, draftKey, id, draft, base, isChanged]);
  return { draft, setDraft, base, setBase, isChanged, isKept: kept !== undefined };
}
