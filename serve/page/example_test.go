package page_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"picogpt/serve/page"
)

// The page belongs beside the API that it calls: package serve has both.
func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle("/", page.Handler())

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
