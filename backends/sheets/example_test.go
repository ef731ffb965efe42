package sheets_test

import (
	"context"
	"fmt"
	"log"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
)

// A transaction is applied or fails as a whole, and a resubmission finds the first one.
func Example() {
	ctx := context.Background()
	server := sheetstest.New(sheetstest.Options{})
	service, err := server.Service(ctx)
	if err != nil {
		log.Fatal(err)
	}
	queue := sheets.Open(service, server.Create("Shop"), sheets.Config{Tables: []sheets.Table{
		{Name: "Users", Key: "id", Columns: []string{"id", "name"}},
		{Name: "Orders", Key: "id", Columns: []string{"id", "user"}},
	}})
	defer func() { _ = queue.Close(ctx) }()
	if err := queue.Initialize(ctx); err != nil {
		log.Fatal(err)
	}

	signUp := sheets.Transaction{ID: "sign-up", Tasks: []sheets.Task{
		sheets.Insert("sign-up/1", "Users", "id", sheets.Row{"id": "u1", "name": "Ann", "_version": 1}),
		sheets.Insert("sign-up/2", "Orders", "id", sheets.Row{"id": 7, "user": "u1", "_version": 1}),
	}}
	rename := sheets.Transaction{ID: "rename", Tasks: []sheets.Task{
		sheets.Update("rename/1", "Users", "id", 5, sheets.Row{"id": "u1", "name": "Anna", "_version": 6}),
	}}
	for _, tx := range []sheets.Transaction{signUp, rename, signUp} {
		out, err := queue.Submit(ctx, tx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tx.ID, out.Result.Sequence, out.Status, out.Result.Verdict)
	}

	rows, err := queue.ReadCanonical(ctx, "Users")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows)
	// Output:
	// sign-up 1 projected done
	// rename 3 projected failed (conflict)
	// sign-up 1 projected done
	// [map[_version:1 id:u1 name:Ann]]
}

// Enqueue in a request, process in a worker.
func ExampleQueue_EnqueueTasks() {
	ctx := context.Background()
	server := sheetstest.New(sheetstest.Options{})
	service, err := server.Service(ctx)
	if err != nil {
		log.Fatal(err)
	}
	queue := sheets.Open(service, server.Create("Shop"), sheets.Config{Tables: []sheets.Table{
		{Name: "Users", Key: "id", Columns: []string{"id", "name"}},
	}})
	if err := queue.Initialize(ctx); err != nil {
		log.Fatal(err)
	}

	receipts, err := queue.EnqueueTasks(ctx, []sheets.Transaction{{ID: "t1", Tasks: []sheets.Task{
		sheets.Insert("t1/1", "Users", "id", sheets.Row{"id": "u1", "name": "Ann", "_version": 1}),
	}}}, sheets.EnqueueOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(receipts[0].Sequence, receipts[0].Verdict.Status)

	progress, err := queue.ProcessTaskQueueBulk(ctx, sheets.ProcessOptions{MaxTransactions: 100})
	if err != nil {
		log.Fatal(err)
	}
	verdict, err := receipts[0].Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(progress.Done, len(progress.Waiting), verdict.Status)
	// Output:
	// 1 pending
	// 1 0 done
}
