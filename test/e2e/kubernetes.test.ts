import { kubernetesScenarios, watchFaultScenarios } from './kubernetes.scenario.ts';

kubernetesScenarios();
watchFaultScenarios();
