import { kubernetesScenarios } from '../e2e/kubernetes.scenario.ts';

kubernetesScenarios();
