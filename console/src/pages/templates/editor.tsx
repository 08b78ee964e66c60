import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { patch, post } from '../../api/client';
import type { Data, Template } from '../../api/types';
import { Button } from '../../parts/button';
import { useChange, useGoOn } from '../../parts/change';
import { readErrors } from '../../parts/dialog';
import { TextArea, TextField, useRefusalFocus } from '../../parts/field';
import { InlineError } from '../../parts/states';
import { type Begun, type Draft, draftOf, isSame, useDraft, useDraftKey } from './draft';
import { useMayChange } from './templates';

/** The body of the request, without parts that are and were empty. */
function bodyOf({ name, subject, html, text }: Draft, template: Template | undefined) {
  return {
    ...{ name, subject },
    ...((html !== '' || template?.html) && { html }),
    ...((text !== '' || template?.text) && { text }),
  };
}

interface Saving {
  readonly template: Template | undefined;
  readonly draft: Draft;
  readonly setBase: (base: Template) => void;
}

function useSave({ template, draft, setBase }: Saving) {
  const change = useChange();
  const client = useQueryClient();
  const draftKey = useDraftKey();
  const goOn = useGoOn();
  const latest = useRef(draft);
  useEffect(() => {
    latest.current = draft;
  }, [draft]);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    setError(undefined);
    const body = bodyOf(draft, template);
    try {
      const saved = template
        ? patch<Data<Template>>(`/v1/templates/${template.id}`, body)
        : post<Data<Template>>('/v1/templates', body);
      const shown = saved.then(async (answer) => {
        await show(answer);
        return answer;
      });
      await change(shown, {
        refresh: ['templates', 'template', 'template-versions'],
        said: `${draft.name} is saved`,
      });
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };
  /** The answer is the newest version, before the page has loaded it: it is not someone else's. What was typed meanwhile builds on it. */
  const show = async (answer: Data<Template>) => {
    const { data } = answer;
    const queryKey = ['template', data.id];
    await client.cancelQueries({ queryKey });
    client.setQueryData(queryKey, answer);
    setBase(data);
    if (template) return;
    client.removeQueries({ queryKey: draftKey() });
    if (!isSame(latest.current, draft)) {
      client.setQueryData<Begun>(draftKey(data.id), { draft: latest.current, base: data });
    }
    goOn(`/templates/${data.id}`);
  };
  return { save, error, busy };
}

/** Makes a template, or a new version of one. */
export function Editor({ template }: { template?: Template }) {
  const mayChange = useMayChange();
  const { draft, setDraft, base, setBase, isChanged, isKept } = useDraft(template);
  // The page may still show the version before the one that has just been saved here.
  const isNewer = template !== undefined && template.version > (base?.version ?? 0);
  const begin = (from: Template | undefined) => {
    setBase(from);
    setDraft(draftOf(from));
  };
  if (isNewer && !isChanged) begin(template);
  const { save, error, busy } = useSave({ template, draft, setBase });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save();
  };
  const { said, rest } = readErrors(error);
  const form = useRefusalFocus(error);
  const field = (name: keyof Draft) => ({
    readOnly: !mayChange,
    value: draft[name],
    error: said(name),
    onChange: ({ target }: { target: { value: string } }) => setDraft({ ...draft, [name]: target.value }),
  });
  const code = { spellCheck: false, className: 'mono' };
  return (
    <form ref={form} className="form" onSubmit={submit}>
      <TextField
        label="Name"
        required
        placeholder="password-reset"
        {...field('name')}
        hint="Lower-case letters, digits and hyphens; sends name it."
      />
      <TextField label="Subject" required {...field('subject')} />
      <TextArea
        label="HTML"
        rows={12}
        {...code}
        {...field('html')}
        hint="Liquid: {{ name }}, {% if … %}, {% for … %}. What is filled in is escaped."
      />
      <TextArea label="Text" rows={4} {...code} {...field('text')} hint="Leave empty to generate it from the HTML." />
      {isNewer && (
        <div className="notice warn" role="status">
          <p>
            <strong>Version {template.version} was saved in the meantime.</strong> Your draft is based on version{' '}
            {base?.version}. Saving it makes a newer version without the other changes.
          </p>
          <Button small onClick={() => begin(template)}>
            Discard the draft
          </Button>
        </div>
      )}
      {isKept && isChanged && !isNewer && (
        <div className="notice" role="status">
          <p>This is your earlier draft. It is not saved.</p>
          <Button small onClick={() => begin(template)}>
            Discard the draft
          </Button>
        </div>
      )}
      <InlineError error={rest()} />
      {mayChange && (
        <div className="row">
          <Button kind="primary" type="submit" busy={busy}>
            {template ? 'Save as a new version' : 'Save'}
          </Button>
        </div>
      )}
    </form>
  );
}
