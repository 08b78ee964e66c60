import { QueryInteger } from '../../../common/http/dto-decorators';

export class ListMailboxQuery {
  @QueryInteger(1, 1_000) page: number = 1;
}
