module tools/kubernetes/pause

go 1.26.0
