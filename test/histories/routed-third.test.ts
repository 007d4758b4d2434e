import { describeHistories } from './routed-many.ts';

describeHistories(3, false);
