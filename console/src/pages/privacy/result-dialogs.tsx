import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get, getFile } from '../../api/client';
import type { Data, PrivacyErasure, PrivacyExport } from '../../api/types';
import { Button } from '../../parts/button';
import { download, downloadFile } from '../../parts/csv';
import { Dialog } from '../../parts/dialog';
import { bytes, count, words } from '../../parts/format';
import { Facts } from '../../parts/page';
import { InlineError, Loaded } from '../../parts/states';
import { Badge, Foreign, Moment } from '../../parts/text';

/** One that waits for its turn, or for deliveries, is pending. */
const isOpen = (request: { readonly status: string } | undefined): boolean =>
  request?.status === 'pending' || request?.status === 'processing';

/** The result of an export, for download. */
export function ExportDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ['export', id],
    queryFn: () => get<Data<PrivacyExport>>(`/v1/gdpr/export/${id}`),
    refetchInterval: ({ state }) => (isOpen(state.data?.data) ? 2_000 : false),
  });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const save = async ({ format, exportedData }: PrivacyExport) => {
    if (format === 'json' && exportedData) {
      download(`export-${id}.json`, JSON.stringify(exportedData, null, 2), 'application/json');
      return;
    }
    // Several files, or too much for one response.
    setBusy(true);
    setError(undefined);
    try {
      downloadFile(`export-${id}.zip`, await getFile(`/v1/gdpr/export/${id}`, 'application/zip'));
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };
  return (
    <Dialog title="Export" onClose={onClose}>
      <Loaded query={query}>
        {({ data }) => (
          <>
            <Facts
              facts={[
                ['Person', <Foreign key="email">{data.email}</Foreign>],
                ['State', <Badge key="status" status={data.status} />],
                [
                  'Holds',
                  data.itemCounts &&
                    Object.entries(data.itemCounts)
                      .map(([name, value]) => `${count(value)} ${name}`)
                      .join(', '),
                ],
                ['Size', data.sizeBytes !== undefined && bytes(data.sizeBytes)],
                ['Deleted', data.expiresAt && <Moment at={data.expiresAt} />],
              ]}
            />
            <InlineError error={error} />
            <div className="dialog-actions">
              <Button onClick={onClose}>Close</Button>
              {data.itemCounts && (
                <Button kind="primary" busy={busy} onClick={() => void save(data)}>
                  {busy ? 'Downloading…' : 'Download'}
                </Button>
              )}
            </div>
          </>
        )}
      </Loaded>
    </Dialog>
  );
}

/** The data that an erasure has erased, and the data that must be kept. */
export function ErasureDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ['erasure', id],
    queryFn: () => get<Data<PrivacyErasure>>(`/v1/gdpr/delete-request/${id}`),
    refetchInterval: ({ state }) => (isOpen(state.data?.data) ? 2_000 : false),
  });
  return (
    <Dialog title="Receipt of an erasure" onClose={onClose}>
      <Loaded query={query}>
        {({ data }) => (
          <>
            <Facts
              facts={[
                ['Person', <Foreign key="email">{data.email}</Foreign>],
                ['State', <Badge key="status" status={data.status} />],
                ['Completed', data.completedAt && <Moment at={data.completedAt} />],
                ...Object.entries(data.receipt ?? {}).map(
                  ([name, value]) => [words(name.replaceAll(/([A-Z])/g, ' $1').toLowerCase()), count(value)] as const,
                ),
                ...data.retentionExceptions.map(
                  ({ category, reason, basis }) => [`Kept: ${category}`, `${words(reason)}. ${basis}`] as const,
                ),
              ]}
            />
            <div className="dialog-actions">
              <Button kind="primary" onClick={onClose}>
                Close
              </Button>
            </div>
          </>
        )}
      </Loaded>
    </Dialog>
  );
}
