import { describeHistories } from './routed-many.ts';

describeHistories(4, false);
