import { ValidationError } from '../../../common/errors/app-error';
import { cutPage, fromCursor, toNextCursor } from '../../../common/http/dto/pagination';
import { parseAddress } from '../../../common/mail-address';
import type { FoundExport } from '../export/exports.service';
import type { ShownRequest } from '../requests/privacy-requests.service';
import {
  DATA_CATEGORIES,
  type ListPrivacyRequestsQuery,
  type PrivacyErasureDto,
  type PrivacyExportDto,
  type PrivacyHistoryDto,
} from './privacy.dto';

const ESTIMATED_DAYS = 1;

/** The normal form of an address. @throws ValidationError */
export function toSubjectAddress(email: string): string {
  const address = parseAddress(email);
  if (!address.ok) throw new ValidationError({ email: [`email ${address.message}`] });
  return address.email;
}

/** Converts an export without its result. */
export function toExportDto({ request, size }: FoundExport): PrivacyExportDto {
  const isOpen = request.completedAt === null;
  return {
    ...baseOf(request),
    format: request.format ?? 'json',
    estimatedCompletionDays: isOpen ? ESTIMATED_DAYS : 0,
    dataCategories: DATA_CATEGORIES,
    ...(request.expiresAt && { expiresAt: request.expiresAt.toISOString() }),
    ...(size && { itemCounts: size.items, sizeBytes: size.bytes }),
  };
}

/** @param retentionExceptions what had, or has, to be kept; empty for nothing */
export function toErasureDto(
  request: ShownRequest,
  retentionExceptions: PrivacyErasureDto['retentionExceptions'],
): PrivacyErasureDto {
  return {
    ...baseOf(request),
    ...(request.receipt && { receipt: toReceipt(request.receipt) }),
    retentionExceptions,
  };
}

/** The counts of a receipt; `retentionExceptions` is a field of its own. */
function toReceipt(receipt: Record<string, unknown>): PrivacyErasureDto['receipt'] {
  const counts = Object.entries(receipt).filter(([name]) => name !== 'retentionExceptions');
  return Object.fromEntries(counts) as unknown as PrivacyErasureDto['receipt'];
}

/** @param total number of requests over all pages */
/** For one entry more than a page has, which shows whether there is a next one. @throws ValidationError for a foreign cursor */
export function toRequestSlice({ limit, offset, cursor }: ListPrivacyRequestsQuery) {
  const before = fromCursor(cursor);
  return { before, skip: before === undefined ? offset : 0, take: limit + 1 };
}

/** @param found as `toRequestSlice` asks for */
export function toHistoryDto(
  found: readonly ShownRequest[],
  total: number,
  { limit }: ListPrivacyRequestsQuery,
): PrivacyHistoryDto {
  const { shown, last } = cutPage(found, limit);
  return {
    requests: shown.map((request) => ({
      requestId: request.id,
      ...{ type: request.type, email: request.email, status: request.status },
      requestedAt: request.requestedAt.toISOString(),
      ...completion(request),
    })),
    total,
    ...toNextCursor(last?.id),
  };
}

function baseOf(request: ShownRequest) {
  const { id: requestId, status, email, requestedAt } = request;
  return {
    requestId,
    status: status === 'pending' ? ('processing' as const) : status,
    email,
    createdAt: requestedAt.toISOString(),
    ...completion(request),
  };
}

function completion({ completedAt }: ShownRequest) {
  return completedAt && { completedAt: completedAt.toISOString() };
}
