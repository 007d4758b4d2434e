import { describeServiceSource } from '../support/service-source-suite.ts';

describeServiceSource();
