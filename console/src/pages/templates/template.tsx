import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { del, get, post } from '../../api/client';
import type { Data, RenderedTemplate, Template, TemplateVersion } from '../../api/types';
import { Button } from '../../parts/button';
import { Confirm } from '../../parts/dialog';
import { bound, TextArea } from '../../parts/field';
import { Card, Page } from '../../parts/page';
import { InlineError, Loaded, LoadedPage, Requires } from '../../parts/states';
import { Tabs } from '../../parts/tabs';
import { Time } from '../../parts/text';
import { useToast } from '../../parts/toast';
import { Editor } from './editor';
import { example } from './example';
import { useMayChange } from './templates';

const UP = { to: '/templates', name: 'Templates' };

export default function TemplateScreen() {
  const { id = '' } = useParams();
  return (
    <Requires scope="template:read">{id === 'new' ? <NewTemplate /> : <TemplatePage key={id} id={id} />}</Requires>
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

function Preview({ template }: { template: Template }) {
  const [variables, setVariables] = useState(() => JSON.stringify(example(template.variables), null, 2));
  const [rendered, setRendered] = useState<RenderedTemplate>();
  const [error, setError] = useState<unknown>();
  const render = async (event: FormEvent) => {
    event.preventDefault();
    setError(undefined);
    try {
      setRendered(
        (
          await post<Data<RenderedTemplate>>(`/v1/templates/${template.id}/render`, {
            variables: JSON.parse(variables) as unknown,
          })
        ).data,
      );
    } catch (failed) {
      setRendered(undefined);
      setError(failed instanceof SyntaxError ? new Error(`The variables are no JSON: ${failed.message}`) : failed);
    }
  };
  return (
    <Card title="Preview">
      <form className="form" onSubmit={render}>
        <TextArea
          label="Variables (JSON)"
          className="mono"
          rows={5}
          spellCheck={false}
          {...bound(variables, setVariables)}
        />
        <InlineError error={error} />
        <div className="row">
          <Button type="submit">Fill in</Button>
        </div>
      </form>
      {rendered && (
        <div className="stack" role="status">
          <h3>
            <bdi>{rendered.subject}</bdi>
          </h3>
          <Tabs
            label="The filled-in template"
            tabs={[
              ...(rendered.text !== undefined
                ? [{ name: 'Text', content: <pre className="code">{rendered.text}</pre> }]
                : []),
              ...(rendered.html !== undefined
                ? [{ name: 'HTML', content: <pre className="code">{rendered.html}</pre> }]
                : []),
            ]}
          />
        </div>
      )}
    </Card>
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
                <bdi className="hint break">{subject}</bdi>
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
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const toast = useToast();
  const remove = async () => {
    await del(`/v1/templates/${template.id}`);
    await client.invalidateQueries({ queryKey: ['templates'] });
    navigate('/templates');
    toast(`${template.name} is deleted`);
  };
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
            made from it stay. There is no way back.
          </p>
        </Confirm>
      )}
    </>
  );
}
