import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { ApiError, del, get, patch, post } from '../../api/client';
import type { Data, RenderedTemplate, Template, TemplateVersion } from '../../api/types';
import { Button } from '../../parts/button';
import { Confirm } from '../../parts/dialog';
import { TextArea, TextField } from '../../parts/field';
import { Card, Page } from '../../parts/page';
import { InlineError, Loaded, Requires } from '../../parts/states';
import { Tabs } from '../../parts/tabs';
import { Time } from '../../parts/text';
import { useToast } from '../../parts/toast';
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
  const template = query.data?.data;
  const mayChange = useMayChange();
  if (!template) {
    return (
      <Page title="Template" up={UP}>
        <Card>
          <Loaded query={query}>{() => null}</Loaded>
        </Card>
      </Page>
    );
  }
  return (
    <Page
      title={template.name}
      up={UP}
      lead={`Version ${template.version}`}
      actions={mayChange && <Remove template={template} />}
    >
      <div className="columns">
        <Card title="What it says">
          <Editor key={template.version} template={template} />
        </Card>
        <div className="stack">
          <Preview template={template} />
          <Versions id={id} />
        </div>
      </div>
    </Page>
  );
}

/** Makes a template, or a new version of one. */
function Editor({ template }: { template?: Template }) {
  const mayChange = useMayChange();
  const client = useQueryClient();
  const toast = useToast();
  const [, navigate] = useLocation();
  const [name, setName] = useState(template?.name ?? '');
  const [subject, setSubject] = useState(template?.subject ?? 'Hello {{ name }}');
  const [html, setHtml] = useState(template?.html ?? '<p>Hello {{ name }},</p>');
  const [text, setText] = useState(template?.text ?? '');
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    const body = {
      name,
      subject,
      ...((html !== '' || template?.html) && { html }),
      ...((text !== '' || template?.text) && { text }),
    };
    try {
      const { data } = template
        ? await patch<Data<Template>>(`/v1/templates/${template.id}`, body)
        : await post<Data<Template>>('/v1/templates', body);
      await Promise.all(
        [['templates'], ['template', data.id], ['template-versions', data.id]].map((queryKey) =>
          client.invalidateQueries({ queryKey }),
        ),
      );
      toast(`Version ${data.version} is saved`);
      if (!template) navigate(`/templates/${data.id}`);
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };
  const said = error instanceof ApiError ? error.validation : {};
  return (
    <form className="form" onSubmit={submit}>
      <TextField
        label="Name"
        required
        readOnly={!mayChange}
        value={name}
        placeholder="password-reset"
        onChange={(event) => setName(event.target.value)}
        error={said.name?.join('. ')}
        hint="Lower-case letters, digits and hyphens; sends name it."
      />
      <TextField
        label="Subject"
        required
        readOnly={!mayChange}
        value={subject}
        onChange={(event) => setSubject(event.target.value)}
        error={said.subject?.join('. ')}
      />
      <TextArea
        label="HTML"
        rows={12}
        spellCheck={false}
        className="mono"
        readOnly={!mayChange}
        value={html}
        onChange={(event) => setHtml(event.target.value)}
        error={said.html?.join('. ')}
        hint="Liquid: {{ name }}, {% if … %}, {% for … %}. What is filled in is escaped."
      />
      <TextArea
        label="Text"
        rows={4}
        spellCheck={false}
        className="mono"
        readOnly={!mayChange}
        value={text}
        onChange={(event) => setText(event.target.value)}
        error={said.text?.join('. ')}
        hint="Empty: made of the html."
      />
      {Object.keys(said).length === 0 && <InlineError error={error} />}
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
            variables: JSON.parse(variables),
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
          value={variables}
          onChange={(event) => setVariables(event.target.value)}
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
