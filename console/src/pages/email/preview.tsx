import type { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Data, EmailContent } from '../../api/types';
import { Button } from '../../parts/button';
import { bytes } from '../../parts/format';
import { Card, Facts } from '../../parts/page';
import { Empty, Loaded } from '../../parts/states';
import { Tabs } from '../../parts/tabs';

/** What an email says: as it looks, and in its parts. */
export function Preview({ id, query }: { id: string; query: ReturnType<typeof useQuery<Data<EmailContent>>> }) {
  const [remote, setRemote] = useState(false);
  return (
    <Card title="Content">
      {query.isError ? (
        <Empty icon="emails" title="The content is not kept any more">
          Bodies and attachments are deleted some time after an email has come to its end; its events stay.
        </Empty>
      ) : (
        <Loaded query={query}>
          {({ data }) => (
            <Tabs
              label="Content"
              tabs={[
                ...(data.html !== undefined
                  ? [{ name: 'Preview', content: <HtmlFrame id={id} remote={remote} setRemote={setRemote} /> }]
                  : []),
                ...(data.text !== undefined
                  ? [{ name: 'Text', content: <pre className="code">{data.text}</pre> }]
                  : []),
                ...(data.html !== undefined
                  ? [{ name: 'HTML', content: <pre className="code">{data.html}</pre> }]
                  : []),
                { name: 'Headers', content: <Headers headers={data.headers} /> },
                ...(data.attachments.length > 0
                  ? [
                      {
                        name: `Attachments (${data.attachments.length})`,
                        content: <Attachments attachments={data.attachments} />,
                      },
                    ]
                  : []),
              ]}
            />
          )}
        </Loaded>
      )}
    </Card>
  );
}

/** The mail's own document, in a frame that may do nothing: no script, no form, nothing from elsewhere unless asked for. */
function HtmlFrame({ id, remote, setRemote }: { id: string; remote: boolean; setRemote: (remote: boolean) => void }) {
  return (
    <>
      <div className="row between">
        <span className="hint">
          {remote ? 'Pictures of other hosts are loaded.' : 'Scripts, forms, links and everything remote are off.'}
        </span>
        <Button small onClick={() => setRemote(!remote)} aria-pressed={remote}>
          {remote ? 'Block remote pictures' : 'Load remote pictures'}
        </Button>
      </div>
      <iframe
        className="preview"
        sandbox=""
        referrerPolicy="no-referrer"
        title="Preview of the email"
        src={`/console/preview/${id}${remote ? '?remote=true' : ''}`}
      />
    </>
  );
}

function Headers({ headers }: { headers: Record<string, string> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return <p className="soft">No headers beside the usual ones.</p>;
  return <Facts facts={entries.map(([name, value]) => [name, <bdi key={name}>{value}</bdi>] as const)} />;
}

function Attachments({ attachments }: { attachments: EmailContent['attachments'] }) {
  return (
    <ul className="stack">
      {attachments.map(({ filename, contentType, size }, index) => (
        <li key={index} className="row between">
          <bdi className="break">{filename}</bdi>
          <span className="soft">
            <bdi>{contentType}</bdi> · {bytes(size)}
          </span>
        </li>
      ))}
    </ul>
  );
}
