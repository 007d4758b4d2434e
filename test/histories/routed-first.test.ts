import { describeHistories } from './routed-many.ts';

describeHistories(1, true);
