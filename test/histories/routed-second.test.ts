import { describeHistories } from './routed-many.ts';

describeHistories(2, false);
