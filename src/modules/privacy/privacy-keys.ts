import type { Mode } from '../../common/tenant';
import type { ExportSection } from './privacy-export-part.entity';

/** Names a request. */
export interface RequestKey {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly id: string;
}

/** Names a part of a request's result. */
export interface PartKey extends RequestKey {
  readonly section: ExportSection;
  readonly part: number;
}
