import type { Peers } from './destinations.repository';
import type { Place, Share } from './worker-share';

/**
 * Which places a worker has had since all workers last agreed on who runs: until they agree again, others may rely on any of these.
 *
 *   new (has no part) ──all others have confirmed the same workers──► agreed (one place)
 *                          agreed ──a worker comes or goes──► several places ──all have confirmed──► agreed
 *
 * So the parts in use never add up to more than a limit, however long a worker stands still. It takes no more than what is its
 * part in each of its places, and more only once each other worker has stored that it keeps to the present ones.
 */
export class KnownPlaces {
  private sessionId: string | undefined;
  private isNew = true;
  private places: readonly Place[] = [];

  /** Returns what to go by from now on. @param peers as read last */
  see(sessionId: string, { ids, isAgreed }: Peers): Share {
    // Of another session the others know nothing.
    if (sessionId !== this.sessionId) this.isNew = true;
    if (isAgreed) this.isNew = false;
    const place = { workers: ids.length, rank: ids.indexOf(sessionId) };
    const isOther = ({ workers, rank }: Place): boolean => workers !== place.workers || rank !== place.rank;
    const before = isAgreed || sessionId !== this.sessionId ? [] : this.places.filter(isOther);
    this.sessionId = sessionId;
    this.places = [...before, place];
    return { places: this.places, isNew: this.isNew };
  }
}
