import { routedOrderScenarios } from '../e2e/routed-order.scenario.ts';

routedOrderScenarios();
