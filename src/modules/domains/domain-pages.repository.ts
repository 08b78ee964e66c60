import type { Repository } from 'typeorm';
import type { Domain } from './domain.entity';

/** The next domains of every organization, in key order, for a background job. @param condition on the table `d` */
export function domainsAfter(
  domains: Repository<Domain>,
  condition: string,
  after: Domain | undefined,
  limit: number,
): Promise<Domain[]> {
  const query = domains
    .createQueryBuilder('d')
    .where(condition)
    .orderBy('d.organizationId')
    .addOrderBy('d.id')
    .limit(limit);
  if (after) query.andWhere('(d.organization_id, d.id) > (:organizationId, :id)', after);
  return query.getMany();
}
