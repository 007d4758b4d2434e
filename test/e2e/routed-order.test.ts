import { routedOrderScenarios } from './routed-order.scenario.ts';

routedOrderScenarios();
