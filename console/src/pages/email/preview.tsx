import type { useQuery } from '@tanstack/react-query';
import { ApiError } from '../../api/client';
import type { Data, EmailContent } from '../../api/types';
import { messageTabs } from '../../parts/message';
import { Card, Facts } from '../../parts/page';
import { Empty, Loaded } from '../../parts/states';
import { Tabs } from '../../parts/tabs';
import { Foreign } from '../../parts/text';

/** The content of an email: rendered, and in its parts. */
export function Preview({ id, query }: { id: string; query: ReturnType<typeof useQuery<Data<EmailContent>>> }) {
  const frame = { src: `/console/preview/${id}`, title: 'Preview of the email' };
  return (
    <Card title="Content">
      {query.error instanceof ApiError && query.error.status === 404 ? (
        <Empty icon="emails" title="The content is no longer stored">
          Bodies and attachments are deleted some time after an email has come to its end; its events stay.
        </Empty>
      ) : (
        <Loaded query={query}>
          {({ data: message }) => (
            <Tabs
              label="Content"
              tabs={messageTabs({ message, frame, headers: <Headers headers={message.headers} /> })}
            />
          )}
        </Loaded>
      )}
    </Card>
  );
}

function Headers({ headers }: { headers: Record<string, string> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return <p className="soft">No custom headers.</p>;
  return <Facts facts={entries.map(([name, value]) => [name, <Foreign key={name}>{value}</Foreign>] as const)} />;
}
