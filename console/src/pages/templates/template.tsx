import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { useParams } from 'wouter';
import { del, get, post } from '../../api/client';
import type { Data, RenderedTemplate, Template, TemplateVersion } from '../../api/types';
import { Button } from '../../parts/button';
import { useRemoval } from '../../parts/change';
import { Confirm } from '../../parts/dialog';
import { bound, TextArea } from '../../parts/field';
import { Card, Page } from '../../parts/page';
import { RequiresRight } from '../../parts/rights';
import { InlineError, Loaded, LoadedPage } from '../../parts/states';
import { Tabs } from '../../parts/tabs';
import { Foreign, Time } from '../../parts/text';
import { useDraftKey } from './draft';
import { Editor } from './editor';
import { withMissing } from './example';
import { useMayChange } from './templates';

const UP = { to: '/templates', name: 'Templates' };

export default function TemplateScreen() {
  const { id = '' } = useParams();
  return (
    <RequiresRight scope="template:read">
      {id === 'new' ? <NewTemplate /> : <TemplatePage key={id} id={id} />}
    </RequiresRight>
  );
}

function NewTemplate() {
  return (
    <Page title="A new template" up={UP}>
      <Card>
        <Editor />
      </Card>
    </Page>
  );
}

function TemplatePage({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ['template', id],
    queryFn: () => get<Data<Template>>(`/v1/templates/${encodeURIComponent(id)}`),
  });
  const mayChange = useMayChange();
  return (
    <LoadedPage query={query} title="Template" up={UP}>
      {({ data: template }) => (
        <Page
          title={template.name}
          up={UP}
          lead={`Version ${template.version}`}
          actions={mayChange && <Remove template={template} />}
        >
          <div className="columns">
            <Card title="What it says">
              <Editor template={template} />
            </Card>
            <div className="stack">
              <Preview template={template} />
              <Versions id={id} />
            </div>
          </div>
        </Page>
      )}
    </LoadedPage>
  );
}

/** Fills in the saved version: a draft beside it is not known to the service. */
function Preview({ template: { id, version, variables: names } }: { template: Template }) {
  const [variables, setVariables] = useState(() => withMissing('{}', names));
  const [seen, setSeen] = useState(version);
  const [result, setResult] = useState<Result>();
  const asked = useRef(0);
  if (seen !== version) {
    setSeen(version);
    setVariables(withMissing(variables, names));
  }
  const render = async (event: FormEvent) => {
    event.preventDefault();
    const turn = (asked.current += 1);
    const outcome = await filledIn(id, variables);
    // A slow answer does not replace a later one.
    if (turn === asked.current) setResult({ ...outcome, version });
  };
  const shown = result?.version === version ? result : undefined;
  return (
    <Card title={`Preview of version ${version}`}>
      <form className="form" onSubmit={render}>
        <TextArea
          label="Variables (JSON)"
          className="mono"
          rows={5}
          spellCheck={false}
          {...bound(variables, setVariables)}
          hint="The saved version is filled in; save a draft to see it here."
        />
        <InlineError error={shown?.error} />
        <div className="row">
          <Button type="submit">Fill in</Button>
        </div>
      </form>
      {shown?.rendered && <FilledIn rendered={shown.rendered} />}
    </Card>
  );
}

interface Outcome {
  readonly rendered?: RenderedTemplate;
  readonly error?: unknown;
}

interface Result extends Outcome {
  /** What was filled in. */
  readonly version: number;
}

async function filledIn(id: string, variables: string): Promise<Outcome> {
  try {
    const body = { variables: JSON.parse(variables) as unknown };
    return { rendered: (await post<Data<RenderedTemplate>>(`/v1/templates/${id}/render`, body)).data };
  } catch (failed) {
    const isJson = !(failed instanceof SyntaxError);
    return { error: isJson ? failed : new Error(`The variables are not valid JSON: ${failed.message}`) };
  }
}

function FilledIn({ rendered: { subject, text, html } }: { rendered: RenderedTemplate }) {
  return (
    <div className="stack filled-in" role="status">
      <h3>
        <Foreign>{subject}</Foreign>
      </h3>
      <Tabs
        label="The filled-in template"
        tabs={[
          ...(text !== undefined ? [{ name: 'Text', content: <pre className="code">{text}</pre> }] : []),
          ...(html !== undefined ? [{ name: 'HTML', content: <pre className="code">{html}</pre> }] : []),
        ]}
      />
    </div>
  );
}

function Versions({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ['template-versions', id],
    queryFn: () => get<Data<TemplateVersion[]>>(`/v1/templates/${id}/versions`),
  });
  return (
    <Card title="Versions">
      <Loaded query={query} lines={2}>
        {({ data }) => (
          <ol className="timeline">
            {data.slice(0, 20).map(({ version, subject, createdAt }) => (
              <li key={version}>
                <div className="row between">
                  <strong>Version {version}</strong>
                  <span className="soft hint">
                    <Time at={createdAt} />
                  </span>
                </div>
                <Foreign className="hint break">{subject}</Foreign>
              </li>
            ))}
          </ol>
        )}
      </Loaded>
    </Card>
  );
}

function Remove({ template }: { template: Template }) {
  const [asks, setAsks] = useState(false);
  const removal = useRemoval();
  const draftKey = useDraftKey();
  const { id } = template;
  const remove = () =>
    removal(del(`/v1/templates/${id}`), {
      ...{ refresh: ['templates'], said: `${template.name} is deleted` },
      ...{ to: '/templates', gone: [['template', id], ['template-versions', id], draftKey(id)] },
    });
  return (
    <>
      <Button kind="danger" onClick={() => setAsks(true)}>
        Delete
      </Button>
      {asks && (
        <Confirm
          title={`Delete ${template.name}?`}
          action="Delete the template"
          typed={template.name}
          onConfirm={remove}
          onClose={() => setAsks(false)}
        >
          <p>
            With all {template.version} of its versions. Sends that name it are refused from now on; emails that were
            made from it stay. This cannot be undone.
          </p>
        </Confirm>
      )}
    </>
  );
}
